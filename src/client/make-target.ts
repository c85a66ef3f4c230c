import { ChronicleError } from "../core/values/errors.ts";
import { urlPath } from "./url-path.ts";

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
