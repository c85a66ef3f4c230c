// This module defines the types of the table of commands. The parser, the help, the completions and `docs/cli.md` are
// all generated from that table.

/**
 * The kind of word at a position of the command line. Shell completion offers words of this kind. If the kind is an
 * array of words, no other word is allowed. A `moment` that is a time without a zone is read in the user's zone.
 */
export type Completes =
  | "path"
  | "moment"
  | "session"
  | "operation"
  | "workspace"
  | "config-key"
  | "command"
  | readonly string[];

/**
 * The form of an option's value. `text` is any text. A `count` is a whole number from 0. A `size` is a number of bytes,
 * such as `2GiB`. `seconds` is a number from 0, which may have a fraction.
 */
export type ValueKind = "text" | "count" | "size" | "seconds";

export interface OptionSpec {
  /** The flags in commander's notation, such as `-m, --message <text>`. */
  readonly flags: string;
  readonly description: string;
  /** The form of the value, if the option takes a value. Default: `text`. */
  readonly value?: ValueKind;
  /** True if the option can be given several times. Default: false. */
  readonly repeated?: boolean;
  readonly completes?: Completes;
  /** Set if the option only works on this machine. A command with this option is refused if a server is used. */
  readonly localOnly?: {
    /** `why`: the message of the refusal. `instead`: the hint of the refusal. */
    readonly why: string;
    readonly instead: string;
  };
}

/**
 * Returns commander's name of an option, such as `maxEntries` for `--max-entries`. Must not be called for an option
 * `--no-…`, because commander leaves `no` out of the name.
 */
export function optionName({ flags }: OptionSpec): string {
  const [, long = ""] = /--([a-z-]+)/.exec(flags) ?? [];
  return long.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export const NOW: OptionSpec = {
  flags: "--now",
  description: "give it up at once, without the 24 hours in which it can be brought back; always asks for confirmation",
  localOnly: { why: "--now is about a store of this machine", instead: "run it there, in a terminal" },
};

export interface ArgumentSpec {
  /** The name in commander's notation, such as `<moment>` or `[path...]`. */
  readonly name: string;
  readonly description: string;
  readonly completes?: Completes;
}

export interface ExampleSpec {
  readonly line: string;
  readonly why: string;
}

export interface CommandSpec {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  /** The text that follows the summary in the output of `-h` and in `docs/cli.md`. */
  readonly details?: string;
  /** The usage line, if it differs from the line that commander generates from the arguments and options. */
  readonly usage?: string;
  readonly args: readonly ArgumentSpec[];
  readonly options: readonly OptionSpec[];
  readonly examples: readonly ExampleSpec[];
  /** True if every word after the first argument is an argument, even if it looks like an option. Default: false. */
  readonly passThrough?: boolean;
  /**
   * True if output that does not fit on the terminal goes to the user's pager. Such a command asks no question and
   * prints no bytes of files. Default: false.
   */
  readonly paged?: true;
  /** True if the help, the completions and `docs/cli.md` leave the command out. Default: false. */
  readonly hidden?: boolean;
  /** Maps each flag that people try, although the command does not have it, to the hint to print. */
  readonly tried?: Readonly<Record<string, string>>;
  /**
   * The option that people mean if they give more arguments than the command takes. `what`: the value of the option in
   * words, for the hint.
   */
  readonly meant?: { readonly flag: string; readonly what: string };
  /** Set if the command only works on this machine. Such a command is refused if a server is used. */
  readonly localOnly?: {
    /** The hint for people, with the step to take instead. */
    readonly instead: string;
    /**
     * True if the command ignores `$CHRONICLE_REMOTE`, because that variable is meant for other commands. Otherwise,
     * the command is refused while the variable is set. The command is not refused if `--store` or an empty `--remote`
     * is given.
     */
    readonly ignoresEnvironment?: true;
  };
}

/**
 * Returns the description of an argument or option. If only certain words are possible, and the description does not
 * have all of them, appends the words.
 */
export function describedWith({ description, completes }: Pick<ArgumentSpec, "description" | "completes">): string {
  if (typeof completes !== "object" || completes.every((word) => description.includes(word))) return description;
  return `${description}: ${completes.join(", ")}`;
}

/**
 * Returns the details of a command; `undefined` if there are none. If the command takes a moment, the details end with
 * a sentence about the forms of a time.
 */
export function detailsOf({ details, args, options }: CommandSpec): string | undefined {
  const takesMoment = [...args, ...options].some(({ completes }) => completes === "moment");
  if (!takesMoment) return details;
  return [...(details === undefined ? [] : [details]), TIMES].join(" ");
}

const TIMES =
  "A moment that is a time without a zone, such as 2026-01-31T09:30, is in your time zone (TZ); 2026-01-31T09:30Z " +
  "is UTC. A time can also be written as 1 minute ago, 9:00, yesterday, or monday 9:00.";

/** Options that every command takes, before or after its name. */
export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  { flags: "-C, --directory <dir>", description: "work as if started in this folder", completes: "path" },
  {
    flags: "-w, --workspace <id>",
    description: "a workspace by its name or id, also one without a folder",
    completes: "workspace",
  },
  {
    flags: "--upstream",
    description: "in a replica: read the mirror of the origin's history instead of the replica's own history",
  },
  { flags: "--store <dir>", description: "where histories are kept (default: $CHRONICLE_HOME)", completes: "path" },
  {
    flags: "--remote <url>",
    description:
      "ask this server instead (default: $CHRONICLE_REMOTE): one of http(s)://HOST:PORT, unix:/PATH or just unix:, " +
      "perhaps followed by #WORKSPACE",
    completes: "path",
  },
  {
    flags: "--token-file <file>",
    description: "the token for --remote (default: $CHRONICLE_TOKEN)",
    completes: "path",
  },
  { flags: "--direct", description: "do not use the store's process (setting $CI does the same); see docs/process.md" },
  { flags: "--json", description: "print one JSON document instead of text" },
  { flags: "--wait <seconds>", description: "how long to wait for a lock (default: 30)", value: "seconds" },
  { flags: "--no-color", description: "no colours (NO_COLOR does the same)" },
  { flags: "--no-pager", description: "print long output directly (PAGER=cat does the same)" },
];
