/** The command line, read with types. Names are commander's: `--max-entries` is `maxEntries`. */
export class Input {
  readonly #options: Readonly<Record<string, unknown>>;
  /** All arguments, those after `--` too. */
  readonly args: readonly string[];
  /** The arguments before `--`, and those after it. */
  readonly before: readonly string[];
  readonly after: readonly string[];

  /** `dashed`: how many of the arguments are after `--`. */
  constructor(options: Readonly<Record<string, unknown>>, args: readonly string[], dashed: number) {
    this.#options = options;
    this.args = args;
    this.before = args.slice(0, args.length - dashed);
    this.after = args.slice(args.length - dashed);
  }

  /** True if the flag was given. False if it was not, and for `x` if `--no-x` was given. */
  flag(name: string): boolean {
    return this.#options[name] === true;
  }

  /** True if the option was given. */
  has(name: string): boolean {
    return this.#options[name] !== undefined;
  }

  text(name: string): string | undefined {
    const value = this.#options[name];
    return typeof value === "string" ? value : undefined;
  }

  number(name: string): number | undefined {
    const value = this.#options[name];
    return typeof value === "number" ? value : undefined;
  }

  /** The values of a repeated option, in order. */
  list(name: string): string[] {
    const value = this.#options[name];
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  }
}
