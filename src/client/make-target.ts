import { ChronicleError } from "../core/values/errors.ts";

/**
 * Returns the path and query of a request: fills in the `{names}` of the pattern, and leaves out undefined query
 * fields.
 */
export function makeTarget(pattern: string, params: Readonly<Record<string, string>>, query: object): string {
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? "";
    return name === "path" ? urlPath(value) : component(name, value);
  });
  const fields = Object.entries(query).flatMap(([key, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined)
      .map((one) => `${key}=${inUrl(key, String(one))}`),
  );
  return fields.length === 0 ? path : `${path}?${fields.join("&")}`;
}

/** Encodes one component of a URL. Refuses `.` and `..`, which are steps in a URL and no names. */
function component(name: string, value: string): string {
  if (value === "" || value === "." || value === "..") {
    throw new ChronicleError("USAGE", `${JSON.stringify(value)} is no ${name}`);
  }
  return inUrl(name, value);
}

function inUrl(name: string, value: string): string {
  if (value.isWellFormed()) return encodeURIComponent(value);
  const code = name === "path" || name === "file" ? "PATH_INVALID" : "USAGE";
  throw new ChronicleError(code, `${name} is not well-formed text`);
}

const ROOT_MARK = /^@[a-z0-9-]+:/;

/**
 * Encodes a path of a workspace for a URL, each component percent-encoded. Some components have a meaning in URLs
 * (`..`, and empty ones). A path with such components is sent as `base64:<bytes>`, so that nothing on the way resolves
 * them, and the server's validator can say what is wrong. Throws `PATH_INVALID` for text that has no bytes.
 */
export function urlPath(given: string): string {
  if (!given.isWellFormed()) {
    throw new ChronicleError("PATH_INVALID", "the path is refused: it is not well-formed text", {
      hint: "a name that is not UTF-8 is given as base64:<bytes>",
    });
  }
  const [, mark = "", path = ""] = /^(@[a-z0-9-]+:)?(.*)$/s.exec(given) ?? [];
  if (path.startsWith("base64:")) return encoded(mark + path.replaceAll("+", "-").replaceAll("/", "_"));
  const trimmed = path.replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
  const plain = trimmed === "." ? "" : trimmed;
  // A file's name may equal the mark of a root or of bytes: such a path is sent as bytes.
  const parts = plain.split("/");
  const stepping = parts.some((part) => part === "" || part === "." || part === "..");
  const marked = plain.startsWith("base64:") || (mark === "" && ROOT_MARK.test(plain));
  return encoded(mark + (stepping || marked ? `base64:${base64Url(plain)}` : plain));
}

function encoded(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

function base64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
