import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** The pictures that somebody has looked at and accepted. */
const ACCEPTED = join(import.meta.dirname, "accepted");

/** Where the three pictures of a difference are put. */
const DIFFERENT = join(tmpdir(), "chronicle-page-pictures");

/** The edge of a cell of the comparison, in pixels of the page. Finer differences, such as those of glyphs, do not count. */
const CELL = 8;

/** The least difference of two cells that counts: 1 is black beside white. */
const THRESHOLD = 0.045;

/** The edge of the window in which different cells are counted, and how many of its cells may differ. */
const WINDOW = { size: 12, most: 16 };

type Picture = Pick<PNG, "width" | "height" | "data">;

/** Writes a screenshot as accepted. `scale`: by how much it is made smaller, to keep the repository small. */
export function accept(name: string, screenshot: Buffer, scale: number): void {
  mkdirSync(ACCEPTED, { recursive: true });
  writeFileSync(acceptedAt(name), encoded(smaller(PNG.sync.read(screenshot), scale)));
}

/**
 * Compares a screenshot with the accepted picture. Returns `undefined` if they are alike, and otherwise what differs,
 * with the paths of the accepted picture, of the present one, and of one with the differences in red.
 */
export function difference(name: string, screenshot: Buffer, scale: number): string | undefined {
  const renew = "`node scripts/accept-page-pictures.ts` accepts what the page shows now";
  if (!existsSync(acceptedAt(name))) return `${name}: nobody has accepted a picture. ${renew}`;
  const accepted = PNG.sync.read(readFileSync(acceptedAt(name)));
  const present = smaller(PNG.sync.read(screenshot), scale);
  if (accepted.width !== present.width || accepted.height !== present.height)
    return `${name}: the accepted picture has another size. ${renew}`;
  const [before, after] = [accepted, present].map((one) => blurred(smaller(one, CELL / scale))) as [Picture, Picture];
  const { width, height } = before;
  const marked = new PNG({ width, height });
  const how = { threshold: THRESHOLD, includeAA: true, windowSize: WINDOW.size };
  const count = pixelmatch(before.data, after.data, marked.data, width, height, how);
  if (process.env["PAGE_PICTURES"] === "verbose") console.log(`${name}: ${count} of ${WINDOW.most}`);
  if (count <= WINDOW.most) return undefined;
  const files = { accepted, present, difference: larger(marked, CELL / scale) };
  const paths = Object.entries(files).map(([what, picture]) => `  ${what}: ${written(`${name}.${what}`, picture)}`);
  const cells = `${count} of ${WINDOW.size ** 2} cells of one part differ, and ${WINDOW.most} may`;
  return [`${name} does not look as accepted: ${cells}. If it should look so now, ${renew}.`, ...paths].join("\n");
}

/** Writes a picture of a difference, and returns its path. */
function written(name: string, picture: Picture): string {
  mkdirSync(DIFFERENT, { recursive: true });
  const path = join(DIFFERENT, `${name}.png`);
  writeFileSync(path, encoded(picture));
  return path;
}

function acceptedAt(name: string): string {
  return join(ACCEPTED, `${name}.png`);
}

function encoded({ width, height, data }: Picture): Buffer {
  const png = new PNG({ width, height });
  png.data = data;
  return PNG.sync.write(png, { colorType: 2, inputHasAlpha: true, deflateLevel: 9 });
}

/** Makes each square of `by` times `by` pixels one pixel with the mean colour. Leaves a rest at the edges out. */
function smaller(picture: Picture, by: number): Picture {
  const width = Math.floor(picture.width / by);
  const height = Math.floor(picture.height / by);
  const data = Buffer.alloc(width * height * 4, 255);
  for (let at = 0; at < width * height; at += 1) {
    const [left, top] = [(at % width) * by, Math.floor(at / width) * by];
    for (let channel = 0; channel < 3; channel += 1)
      data[at * 4 + channel] = Math.round(meanOf(picture, { left, top, by, channel }));
  }
  return { width, height, data };
}

interface Square {
  readonly left: number;
  readonly top: number;
  readonly by: number;
  readonly channel: number;
}

function meanOf({ width, data }: Picture, { left, top, by, channel }: Square): number {
  let sum = 0;
  for (let y = top; y < top + by; y += 1)
    for (let x = left; x < left + by; x += 1) sum += data[(y * width + x) * 4 + channel] ?? 0;
  return sum / (by * by);
}

/** Gives each pixel the mean colour of itself and its neighbours, so that a small shift makes a small difference. */
function blurred(picture: Picture): Picture {
  const { width, height } = picture;
  const data = Buffer.alloc(width * height * 4, 255);
  const within = (at: number, length: number): number => Math.max(0, Math.min(length - 3, at - 1));
  for (let at = 0; at < width * height; at += 1) {
    const [left, top] = [within(at % width, width), within(Math.floor(at / width), height)];
    for (let channel = 0; channel < 3; channel += 1)
      data[at * 4 + channel] = Math.round(meanOf(picture, { left, top, by: 3, channel }));
  }
  return { width, height, data };
}

/** Makes each pixel a square of `by` times `by` pixels. */
function larger(picture: Picture, by: number): Picture {
  const [width, height] = [picture.width * by, picture.height * by];
  const data = Buffer.alloc(width * height * 4);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const from = (Math.floor(y / by) * picture.width + Math.floor(x / by)) * 4;
      picture.data.copy(data, (y * width + x) * 4, from, from + 4);
    }
  return { width, height, data };
}
