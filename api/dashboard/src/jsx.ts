// What the bundler puts in place of JSX.
export { Fragment, h } from "preact";
