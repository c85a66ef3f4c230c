import { ChronicleError } from "../core/errors.ts";

/** The error for a path that cannot be decoded. */
export function undecodable(): ChronicleError {
  return new ChronicleError("PATH_INVALID", "this path is not UTF-8, percent-encoded once", {
    hint: "a name that is not UTF-8 stands there as base64: and its bytes in base64url",
  });
}

/** What stands at the names of a pattern. */
export type PathParams = Readonly<Record<string, string>>;

/**
 * Reads a path as the request line has it: `/v1/workspaces/{id}/files/{path}/history`. Each part is decoded once, after the
 * path was cut at its slashes; an encoded slash in `{path}` is one of the file's path, as generated clients send it. In
 * any other name it is part of the name. Nothing is normalised: the validator of paths sees what was asked for.
 */
export class PathPattern {
  readonly #parts: readonly string[];
  readonly #wide: number;

  /** `pattern`: as in OpenAPI. Only `{path}` holds slashes, and stands there once at most. */
  constructor(pattern: string) {
    this.#parts = pattern.split("/");
    this.#wide = this.#parts.indexOf("{path}");
  }

  /** How much of it is fixed: of two that match, the one with more is meant. */
  get weight(): number {
    return this.#parts.filter((part) => !part.startsWith("{")).length;
  }

  /** As the router wants it: what begins with `{path}` is one wildcard. */
  get forRouter(): string {
    const until = this.#wide < 0 ? this.#parts : [...this.#parts.slice(0, this.#wide), "*"];
    return until.map((part) => part.replace(/^\{(.*)\}$/, ":$1")).join("/");
  }

  /** `undefined`: another path. Throws `URIError` for what is not UTF-8, percent-encoded. */
  match(path: string): PathParams | undefined {
    const given = path.split("/");
    const more = given.length - this.#parts.length;
    if (this.#wide < 0 ? more !== 0 : more < 0) return undefined;
    const shift = (at: number): number => (this.#wide >= 0 && at > this.#wide ? at + more : at);
    // What is fixed first: most patterns end there, before anything is decoded.
    const isOurs = this.#parts.every((part, at) => part.startsWith("{") || decoded(given[shift(at)] ?? "") === part);
    if (!isOurs) return undefined;
    const params: Record<string, string> = {};
    for (const [at, part] of this.#parts.entries()) {
      if (!part.startsWith("{")) continue;
      const mine = at === this.#wide ? given.slice(at, at + more + 1) : [given[shift(at)] ?? ""];
      params[part.slice(1, -1)] = mine.map(decoded).join("/");
    }
    return params;
  }
}

/** Most of what is asked for has nothing to decode. */
function decoded(text: string): string {
  return text.includes("%") ? decodeURIComponent(text) : text;
}
