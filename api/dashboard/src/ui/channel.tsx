// The name and the colour of a channel. The pictures that the daemon draws have the same colours (picture_palette in core/draw/picture.c).
import type { Json } from "../api";

const FIRST = [[230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66], [0, 114, 178], [213, 94, 0], [204, 121, 167], [153, 153, 153]];

function fromHsv(hue: number, saturation: number, value: number): number[] {
  return [5, 3, 1].map((offset) => {
    const k = (offset + 6 * hue) % 6, slope = Math.min(1, Math.max(0, Math.min(k, 4 - k)));
    return Math.round(255 * value * (1 - saturation * slope));
  });
}

const rgb = (channel: number): number[] => {
  const place = channel - FIRST.length;
  return FIRST[channel] ?? fromHsv((0.11 + 0.61803398875 * place) % 1, 0.55 + 0.25 * (place % 2), 1 - 0.2 * (place % 3));
};
export const channelColour = (channel: number): string => `rgb(${rgb(channel).join(" ")})`;
/** Black or white, whichever is readable on the channel's colour. */
export const channelInk = (channel: number): string => (([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b > 128 ? "#000" : "#fff"))(rgb(channel));

/** The names of a job's channels, from the labels that their presence predicts: "ring or triangle". A channel without a name has its number. */
export function channelNames(channels: Json | undefined): (channel: number) => string {
  const names = new Map((Array.isArray(channels) ? channels : []).map((row, i) => {
    const entry = row as { channel?: number; name?: string | null };
    return [entry.channel ?? i, entry.name];
  }));
  return (channel) => names.get(channel) ?? `channel ${channel}`;
}

export function ChannelMark({ channel, name }: { channel: number; name: string }) {
  return <><i class="swatch round" style={{ background: channelColour(channel) }} aria-hidden="true" />{name}</>;
}
