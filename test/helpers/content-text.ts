/** Reads a whole content, as UTF-8 text. */
export async function text(content: { pieces(): AsyncIterable<Uint8Array> }): Promise<string> {
  return (await bytes(content.pieces())).toString("utf8");
}

/** Reads all pieces into one buffer. */
export async function bytes(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return Buffer.concat(all);
}
