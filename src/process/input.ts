/**
 * The parsed command line, with typed access. The options have commander's names: `--max-entries` is `maxEntries`. An
 * option whose value has another type than the method returns counts as not given.
 */
export class Input {
  readonly #options: Readonly<Record<string, unknown>>;
  /** All arguments, including those after `--`. */
  readonly args: readonly string[];
  /** The arguments before `--`; all arguments if there is no `--`. */
  readonly before: readonly string[];
  /** The arguments after `--`. */
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

  /** True if the option was given or has a default. */
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

  /** The values of an option that can be repeated, in order; empty if it was not given. */
  list(name: string): string[] {
    const value = this.#options[name];
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  }
}
