/** The look of some characters on a terminal, as its escape sequences (SGR) say. */
interface Look {
  readonly colour?: string;
  readonly isBold?: boolean;
  readonly isDim?: boolean;
  readonly isStruck?: boolean;
  readonly isReversed?: boolean;
}

interface Piece {
  readonly text: string;
  readonly look: Look;
}

const CELL = { width: 8.4, height: 19 };
const MARGIN = 14;
const BACKGROUND = "#16181d";
const FOREGROUND = "#d7dae0";

/** The colours 0 to 7 and 8 to 15 of a terminal. */
const COLOURS = ["#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"];
const BRIGHT = ["#7f848e", "#ff7b86", "#b5e08f", "#ffd68a", "#7cc4ff", "#dd90f5", "#6fd3df", "#ffffff"];

const ESCAPE = "\u001b";

/** Returns the look after one parameter of an escape sequence. */
function after(look: Look, code: number): Look {
  if (code === 0) return {};
  if (code === 1) return { ...look, isBold: true };
  if (code === 2) return { ...look, isDim: true };
  if (code === 7) return { ...look, isReversed: true };
  if (code === 9) return { ...look, isStruck: true };
  if (code === 22) return { ...look, isBold: false, isDim: false };
  if (code === 27) return { ...look, isReversed: false };
  if (code === 29) return { ...look, isStruck: false };
  if (code === 39) return { ...look, colour: FOREGROUND };
  if (code >= 30 && code <= 37) return { ...look, colour: COLOURS[code - 30] ?? FOREGROUND };
  if (code >= 90 && code <= 97) return { ...look, colour: BRIGHT[code - 90] ?? FOREGROUND };
  return look;
}

/**
 * Splits the lines of a terminal into pieces of one look each. A look lasts until an escape sequence changes it, also
 * across the end of a line. Escape sequences that change no look are left out.
 */
function piecesOf(lines: readonly string[]): readonly (readonly Piece[])[] {
  let look: Look = {};
  return lines.map((line) => {
    const pieces: Piece[] = [];
    for (const [at, part] of line.split(ESCAPE).entries()) {
      const sequence = at === 0 ? undefined : /^\[([\d;]*)([A-Za-z])/.exec(part);
      if (sequence?.[2] === "m") for (const code of (sequence[1] ?? "").split(";")) look = after(look, Number(code));
      const text = part.slice(sequence?.[0].length ?? 0);
      if (text !== "") pieces.push({ text, look });
    }
    return pieces;
  });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function styleOf({ colour = FOREGROUND, isBold, isDim, isStruck, isReversed }: Look): string {
  const parts = [`fill="${isReversed === true ? BACKGROUND : colour}"`];
  if (isBold === true) parts.push('font-weight="bold"');
  if (isDim === true) parts.push('opacity="0.6"');
  if (isStruck === true) parts.push('text-decoration="line-through"');
  return parts.join(" ");
}

function lineSvg(pieces: readonly Piece[], row: number): string {
  const y = MARGIN + (row + 0.75) * CELL.height;
  let column = 0;
  const found: string[] = [];
  for (const { text, look } of pieces) {
    const [x, length] = [MARGIN + column * CELL.width, [...text].length];
    const box = `x="${x.toFixed(1)}" y="${(y - 0.75 * CELL.height).toFixed(1)}"`;
    const size = `width="${(length * CELL.width).toFixed(1)}" height="${CELL.height}"`;
    if (look.isReversed === true) found.push(`<rect ${box} ${size} fill="${look.colour ?? FOREGROUND}"/>`);
    // The length of the text is given, so that columns stay below each other in any font.
    const place = `x="${x.toFixed(1)}" y="${y.toFixed(1)}" textLength="${(length * CELL.width).toFixed(1)}"`;
    if (text.trim() !== "") found.push(`<text ${place} ${styleOf(look)} xml:space="preserve">${escaped(text)}</text>`);
    column += length;
  }
  return found.join("\n");
}

/**
 * Returns a picture (SVG) of a terminal. `screen`: its lines, with the escape sequences of their looks. `title`: what
 * the picture shows, for those who cannot see it.
 */
export function screenSvg(
  screen: string,
  { columns, title }: { readonly columns: number; readonly title: string },
): string {
  const lines = screen.replace(/\n+$/, "").split("\n");
  const [width, height] = [columns * CELL.width + 2 * MARGIN, lines.length * CELL.height + 2 * MARGIN];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width.toFixed(0)} ${height}" role="img">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
${piecesOf(lines).map(lineSvg).join("\n")}
</g>
</svg>
`;
}
