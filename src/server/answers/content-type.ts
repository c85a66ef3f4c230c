/**
 * Types that a browser shows without ever running any of the content. Everything else is sent as bytes or as plain
 * text.
 */
const BY_EXTENSION: ReadonlyMap<string, string> = new Map(
  Object.entries({
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    avif: "image/avif",
    ico: "image/x-icon",
    bmp: "image/bmp",
    mp3: "audio/mpeg",
    ogg: "audio/ogg",
    wav: "audio/wav",
    mp4: "video/mp4",
    webm: "video/webm",
    woff: "font/woff",
    woff2: "font/woff2",
  }),
);

const PLAIN = "text/plain; charset=utf-8";
const BYTES = "application/octet-stream";

/** Types sent as plain text: markup, scripts and styles are shown as they are written. */
const TEXT =
  /^(bash|bat|c|cc|cfg|clj|conf|cpp|cs|css|csv|dart|diff|ex|exs|go|gradle|graphql|h|hpp|hs|htm|html|ini|java|jl|js|json|jsonc|jsonl|jsx|kt|less|lock|log|lua|m|md|mjs|cjs|mts|cts|ml|nix|patch|php|pl|properties|proto|ps1|py|r|rb|rs|sass|scala|scss|sh|sql|svelte|svg|swift|tex|tf|toml|ts|tsv|tsx|txt|vue|xhtml|xml|yaml|yml|zig|zsh)$/;

/** Returns the media type of a file by its name alone, without its content. */
export function contentTypeOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const extension = /\.([A-Za-z0-9]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return BY_EXTENSION.get(extension) ?? (TEXT.test(extension) ? PLAIN : BYTES);
}

/**
 * Returns a `Content-Disposition` with the file's name (RFC 6266, RFC 8187): browsers save it, and never open it in
 * place.
 */
export function attachment(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toWellFormed();
  const plain = name.replaceAll(/[^A-Za-z0-9._ -]/g, "_").slice(0, 100);
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*!]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
