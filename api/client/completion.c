/* `motifctl completion`: writes the tables of commands and options as a script for a shell. The script completes the
 * value of an option that names a file to a file name, and an argument that names a job to an id from the server's
 * list. */
#include <string.h>

#include "api/client/ctl.h"

static bool takes_job(const struct command *command)
{
    return strncmp(command->arguments, "JOB", 3) == 0;
}

static bool names_file(const struct option_spec *option)
{
    return option->value && (strstr(option->value, "FILE") || strstr(option->value, "DIR"));
}

/* Appends text between single quotes, which bash, zsh and fish accept. */
static void quoted(struct buf *out, const char *text)
{
    buf_text(out, "'");
    for (; *text; text++)
        if (*text == '\'')
            buf_text(out, "'\\''");
        else
            buf_append(out, text, 1);
    buf_text(out, "'");
}

static void words_of(struct buf *out, const struct option_spec *options)
{
    for (; options->name; options++)
        buf_format(out, " --%s", options->name);
}

/* ---- bash: also read by zsh's bashcompinit ---- */

static void bash_case(struct buf *out, const struct ctl *ctl, const struct command *command)
{
    buf_format(out, "    %s) words=\"", command->name);
    words_of(out, command->options);
    words_of(out, ctl->common_options);
    buf_format(out, "\"; jobs=%d ;;\n", takes_job(command));
}

static void bash_files(struct buf *out, const struct ctl *ctl)
{
    const char *between = "";
    for (size_t i = 0; ctl->commands[i]; i++)
        for (const struct option_spec *option = ctl->commands[i]->options; option->name; option++)
            if (names_file(option)) {
                buf_format(out, "%s--%s", between, option->name);
                between = "|";
            }
}

static void write_bash(struct buf *out, const struct ctl *ctl)
{
    buf_text(out, "# bash completion of motifctl; made by `motifctl completion bash`\n"
                  "_motifctl_jobs() {\n"
                  "  motifctl list --json 2>/dev/null | grep -o '\"id\": *\"[^\"]*\"' | cut -d '\"' -f 4\n"
                  "}\n"
                  "_motifctl() {\n"
                  "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" words= jobs=0\n"
                  "  case \"$before\" in\n    ");
    bash_files(out, ctl);
    buf_text(out, ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n  esac\n"
                  "  if ((COMP_CWORD == 1)); then\n    words=\"");
    for (size_t i = 0; ctl->commands[i]; i++)
        buf_format(out, "%s%s", i > 0 ? " " : "", ctl->commands[i]->name);
    buf_text(out, "\"\n  else\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; ctl->commands[i]; i++)
        bash_case(out, ctl, ctl->commands[i]);
    buf_text(out, "    esac\n"
                  "    [[ \"$word\" != -* ]] && words=\n"
                  "    ((jobs)) && [[ \"$word\" != -* ]] && words=\"latest $(_motifctl_jobs)\"\n"
                  "  fi\n"
                  "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "}\n"
                  "complete -o default -F _motifctl motifctl\n");
}

/* ---- zsh ---- */

/* Appends "name:meaning", the format of zsh's _describe. */
static void zsh_entry(struct buf *out, const char *dashes, const char *name, const char *meaning)
{
    char text[300];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s%s:", dashes, name);
    for (; *meaning && used + 3 < sizeof(text); meaning++) {
        if (*meaning == ':')
            text[used++] = '\\';
        text[used++] = *meaning;
    }
    text[used < sizeof(text) ? used : sizeof(text) - 1] = 0;
    buf_text(out, "      ");
    quoted(out, text);
    buf_text(out, "\n");
}

static void zsh_options(struct buf *out, const struct option_spec *options)
{
    for (; options->name; options++)
        zsh_entry(out, "--", options->name, options->meaning);
}

static void write_zsh(struct buf *out, const struct ctl *ctl)
{
    buf_text(out, "#compdef motifctl\n# zsh completion of motifctl; made by `motifctl completion zsh`\n"
                  "_motifctl() {\n"
                  "  local -a entries\n"
                  "  local ids\n"
                  "  if ((CURRENT == 2)); then\n    entries=(\n");
    for (size_t i = 0; ctl->commands[i]; i++)
        zsh_entry(out, "", ctl->commands[i]->name, ctl->commands[i]->summary);
    buf_text(out, "    )\n    _describe command entries\n    return\n  fi\n"
                  "  case \"$words[2]\" in\n");
    for (size_t i = 0; ctl->commands[i]; i++) {
        buf_format(out, "    %s) ids=%d; entries=(\n", ctl->commands[i]->name, takes_job(ctl->commands[i]));
        zsh_options(out, ctl->commands[i]->options);
        zsh_options(out, ctl->common_options);
        buf_text(out, "    ) ;;\n");
    }
    buf_text(out, "  esac\n"
                  "  if [[ \"$PREFIX\" == -* ]]; then\n    _describe option entries\n"
                  "  elif ((ids)); then\n"
                  "    compadd latest ${(f)\"$(motifctl list --json 2>/dev/null | grep -o '\"id\": *\"[^\"]*\"' | cut "
                  "-d '\"' -f 4)\"}\n"
                  "  else\n    _files\n  fi\n}\n"
                  "_motifctl \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(struct buf *out, const struct command *command, const struct option_spec *option)
{
    buf_text(out, "complete -c motifctl");
    if (command)
        buf_format(out, " -n '__fish_seen_subcommand_from %s'", command->name);
    buf_format(out, " -l %s%s%s -d ", option->name, option->value ? " -r" : "", names_file(option) ? " -F" : "");
    quoted(out, option->meaning);
    buf_text(out, "\n");
}

static void write_fish(struct buf *out, const struct ctl *ctl)
{
    buf_text(out, "# fish completion of motifctl; made by `motifctl completion fish`\n"
                  "complete -c motifctl -f\n");
    for (size_t i = 0; ctl->commands[i]; i++) {
        const struct command *command = ctl->commands[i];
        buf_format(out, "complete -c motifctl -n __fish_use_subcommand -a %s -d ", command->name);
        quoted(out, command->summary);
        buf_text(out, "\n");
        if (takes_job(command))
            buf_format(out,
                       "complete -c motifctl -n '__fish_seen_subcommand_from %s' -a \"latest (motifctl list --json "
                       "2>/dev/null | string match -rga '\\\"id\\\": *\\\"([^\\\"]*)\\\"')\"\n",
                       command->name);
        for (const struct option_spec *option = command->options; option->name; option++)
            fish_option(out, command, option);
    }
    for (const struct option_spec *option = ctl->common_options; option->name; option++)
        fish_option(out, NULL, option);
}

static const struct option_spec options[] = {{NULL, NULL, NULL}};

static int run(struct ctl *ctl, const struct options *args)
{
    static const struct {
        const char *name;
        void (*write)(struct buf *out, const struct ctl *ctl);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(args->positional[0], shells[i].name) == 0) {
            struct buf out;
            buf_init(&out, 1 << 20);
            shells[i].write(&out, ctl);
            term_flush(&ctl->out, &out);
            buf_close(&out);
            return CTL_SUCCESS;
        }
    return ctl_usage(ctl, "the shell must be bash, zsh or fish; got %.40s", args->positional[0]);
}

const struct command command_completion = {
    .name = "completion",
    .arguments = "SHELL",
    .summary = "print a script that completes commands, options and jobs in bash, zsh or fish",
    .text = "Completes commands, options, files and the ids of jobs. Source the script once in a shell, or install it "
            "as below. Needs no\nserver to print the script.",
    .example = "  source <(motifctl completion bash)\n"
               "  motifctl completion zsh > ~/.zfunc/_motifctl\n"
               "  motifctl completion fish > ~/.config/fish/completions/motifctl.fish",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
