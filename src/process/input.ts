/** The parsed command line, with typed access. The names are commander's: `--max-entries` is `maxEntries`. */
export class Input {
  readonly #options: Readonly<Record<string, unknown>>;
  /** All arguments, including those after `--`. */
  readonly args: readonly string[];
  /** The arguments before `--`. `after` has the others. */
  readonly before: readonly string[];
  readonly after: readonly string[];

  /** `dashed` is the number of arguments after `--`. */
  constructor(options: Readonly<Record<string, unknown>>, args: readonly string[], dashed: number) {
    this.#options = options;
    this.args = args;
    this.before = args.slice(0, args.length - dashed);
    this.after = args.slice(args.length - dashed);
  }

  /** False if the flag was not given or was negated (`--no-NAME`). */
  flag(name: string): boolean {
    return this.#options[name] === true;
  }

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

  /** The values of an option that can be repeated, in order. */
  list(name: string): string[] {
    const value = this.#options[name];
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  }
}
