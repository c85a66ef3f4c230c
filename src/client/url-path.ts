import { ChronicleError } from "../core/values/errors.ts";

const ROOT_MARK = /^@[a-z0-9-]+:/;

/**
 * A path of a workspace as it stands in a URL, each component percent-encoded. A URL has components of its own meaning
 * (`..`, and what is empty): a path that has such goes as `base64:<bytes>`, so that whoever reads the URL takes no step by it,
 * and the server's validator says what is wrong with it. Throws `PATH_INVALID` for text that has no bytes.
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
  // A file may really be called as the marks of a root or of bytes are: its bytes say so.
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
