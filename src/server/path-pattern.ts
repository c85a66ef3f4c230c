import { ChronicleError } from "../core/values/errors.ts";

/** The error for a path that cannot be decoded. */
export function undecodable(): ChronicleError {
  return new ChronicleError("PATH_INVALID", "this path is not UTF-8, percent-encoded once", {
    hint: "a name that is not UTF-8 stands there as base64: and its bytes in base64url",
  });
}

/** The values of a pattern's names. */
export type PathParams = Readonly<Record<string, string>>;

/** One part of a pattern: a word, or a name without its braces. */
interface Part {
  readonly at: number;
  readonly text: string;
}

/**
 * Matches a path as it is in the request line: `/v1/workspaces/{id}/files/{path}/history`. The path is cut at its
 * slashes, then each part is decoded once. An encoded slash in `{path}` is one of the file's path, as generated clients
 * send it; in any other name it is part of the name. Nothing is normalised: the validator of paths sees the original
 * path.
 */
export class PathPattern {
  readonly #parts: readonly string[];
  readonly #wide: number;
  readonly #fixed: readonly Part[];
  readonly #named: readonly Part[];

  /** `pattern`: as in OpenAPI. Only `{path}` holds slashes, and it may appear only once. */
  constructor(pattern: string) {
    this.#parts = pattern.split("/");
    this.#wide = this.#parts.indexOf("{path}");
    const all = this.#parts.map((text, at): Part => ({ at, text }));
    this.#fixed = all.filter(({ text }) => !text.startsWith("{"));
    this.#named = all
      .filter((part) => !this.#fixed.includes(part))
      .map(({ at, text }) => ({ at, text: text.slice(1, -1) }));
  }

  /** Number of fixed parts: if two patterns match, the one with more wins. */
  get weight(): number {
    return this.#fixed.length;
  }

  /** The pattern in the router's form: everything from `{path}` on is one wildcard. */
  get forRouter(): string {
    const until = this.#wide < 0 ? this.#parts : [...this.#parts.slice(0, this.#wide), "*"];
    return until.map((part) => part.replace(/^\{(.*)\}$/, ":$1")).join("/");
  }

  /** Returns `undefined` for another path. Throws `URIError` for text that is not percent-encoded UTF-8. */
  match(path: string): PathParams | undefined {
    const given = path.split("/");
    const more = given.length - this.#parts.length;
    if (this.#wide < 0 ? more !== 0 : more < 0) return undefined;
    const shift = (at: number): number => (this.#wide >= 0 && at > this.#wide ? at + more : at);
    // Fixed parts first: most patterns fail there, before anything is decoded.
    for (const { at, text } of this.#fixed) if (decoded(given[shift(at)] ?? "") !== text) return undefined;
    const params: Record<string, string> = {};
    for (const { at, text } of this.#named) {
      params[text] =
        at === this.#wide
          ? given
              .slice(at, at + more + 1)
              .map(decoded)
              .join("/")
          : decoded(given[shift(at)] ?? "");
    }
    return params;
  }
}

/** Most parts have nothing to decode. */
function decoded(text: string): string {
  return text.includes("%") ? decodeURIComponent(text) : text;
}
