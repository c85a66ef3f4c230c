export interface GitSetting {
  /**
   * The section and the key in lower case, with the subsection between them unchanged: `core.ignorecase`,
   * `includeif.gitdir:~/code/.path`.
   */
  readonly name: string;
  /** The value; `undefined` if the key has no value. git reads such a setting as true. */
  readonly value: string | undefined;
}

/**
 * Parses a configuration file as git's `config.c` does. Stops at the first line that git would refuse, and returns the
 * number of this line as `damaged`. The first line has the number 1.
 */
export function parseGitConfig(text: string): { readonly settings: readonly GitSetting[]; readonly damaged?: number } {
  const reader = new ConfigReader(text.startsWith("\uFEFF") ? text.slice(1) : text);
  return reader.read();
}

const SPACE = /[ \t\n\v\f\r]/;
const KEY = /[A-Za-z][A-Za-z0-9-]*/y;
const SECTION = /\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?[ \t]*\]/y;

class ConfigReader {
  readonly #text: string;
  #at = 0;
  #section = "";
  readonly #settings: GitSetting[] = [];

  constructor(text: string) {
    this.#text = text.replaceAll("\r\n", "\n");
  }

  read(): { readonly settings: readonly GitSetting[]; readonly damaged?: number } {
    while (this.#at < this.#text.length) {
      if (this.#one()) continue;
      return { settings: this.#settings, damaged: this.#text.slice(0, this.#at).split("\n").length };
    }
    return { settings: this.#settings };
  }

  /** Reads one blank, comment, section heading or setting. Returns false if git would refuse the line. */
  #one(): boolean {
    const c = this.#text[this.#at] ?? "";
    if (SPACE.test(c)) this.#at += 1;
    else if (c === "#" || c === ";") this.#skipLine();
    else if (c === "[") return this.#head();
    else return this.#setting();
    return true;
  }

  #skipLine(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end + 1;
  }

  #head(): boolean {
    SECTION.lastIndex = this.#at;
    const match = SECTION.exec(this.#text);
    if (match === null) return false;
    const [whole, name = "", inner] = match;
    this.#section =
      inner === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${inner.replaceAll(/\\(.)/g, "$1")}`;
    this.#at += whole.length;
    return true;
  }

  #setting(): boolean {
    KEY.lastIndex = this.#at;
    const [key] = KEY.exec(this.#text) ?? [];
    if (key === undefined) return false;
    this.#at += key.length;
    const name = `${this.#section === "" ? "" : `${this.#section}.`}${key.toLowerCase()}`;
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1;
    const next = this.#text[this.#at];
    if (next === undefined || next === "\n") {
      this.#settings.push({ name, value: undefined });
      return true;
    }
    if (next !== "=") return false;
    this.#at += 1;
    const value = this.#value();
    if (value === undefined) return false;
    this.#settings.push({ name, value });
    return true;
  }

  /**
   * Reads the value up to the end of the line, without the blanks around it. Returns `undefined` if the value is
   * malformed.
   */
  #value(): string | undefined {
    let value = "";
    let blanks = "";
    let isQuoted = false;
    for (; ; this.#at += 1) {
      const c = this.#text[this.#at];
      if (c === undefined || c === "\n") return isQuoted ? undefined : value;
      if (!isQuoted && (c === "#" || c === ";")) {
        this.#skipLine();
        return value;
      }
      if (!isQuoted && SPACE.test(c)) {
        if (value !== "") blanks += c;
        continue;
      }
      value += blanks;
      blanks = "";
      if (c === '"') isQuoted = !isQuoted;
      else if (c === "\\") {
        const escaped = this.#escaped();
        if (escaped === undefined) return undefined;
        value += escaped;
      } else value += c;
    }
  }

  #escaped(): string | undefined {
    this.#at += 1;
    return ESCAPES.get(this.#text[this.#at] ?? "");
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", ""],
  ["\\", "\\"],
  ['"', '"'],
  ["n", "\n"],
  ["t", "\t"],
  ["b", "\b"],
]);

/** Returns the value of a setting as git reads a boolean; `undefined` if git reads no boolean from the value. */
export function isGitTrue(value: string | undefined): boolean | undefined {
  if (value === undefined) return true;
  const word = value.toLowerCase();
  if (["true", "yes", "on"].includes(word)) return true;
  if (["", "false", "no", "off"].includes(word)) return false;
  return /^[+-]?\d+[kmg]?$/.test(word) ? !/^[+-]?0+[kmg]?$/.test(word) : undefined;
}
