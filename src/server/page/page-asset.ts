import { acceptedEncodings } from "../answers/compress.ts";

/** Maps the extension of a file of the page to its content type. Files with other extensions are not served. */
const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  webp: "image/webp",
  woff2: "font/woff2",
};

/** Returns the content type of a file; `undefined` for a file that is not served under its own name (`app.js.br`). */
export function contentTypeOf(name: string): string | undefined {
  const end = name.slice(name.lastIndexOf(".") + 1);
  return Object.hasOwn(TYPES, end) ? TYPES[end] : undefined;
}

interface Encoding {
  readonly name: string;
  /** The suffix in the name of a file with this encoding. */
  readonly suffix: string;
}

/** The encodings in which the page's files were written when it was built, the smallest first. */
const ENCODINGS: readonly Encoding[] = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
];

/**
 * Returns the smallest encoding that the client accepts and that exists; `undefined` if the file is sent as it is.
 * `accepted` is the header `accept-encoding`.
 */
export function chosenEncoding(accepted: string, exists: (suffix: string) => boolean): Encoding | undefined {
  const accepts = acceptedEncodings(accepted);
  return ENCODINGS.find(({ name, suffix }) => accepts(name) && exists(suffix));
}
