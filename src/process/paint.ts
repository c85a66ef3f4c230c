import { styleText } from "node:util";

/** A format of `styleText`. */
export type Format = Parameters<typeof styleText>[0];

/** Colours a text, or gives it back as it is. */
export type Paint = (format: Format, text: string) => string;

/** A `Paint` for a sink that shows colours, or does not. */
export function paintFor(colours: boolean): Paint {
  return colours ? (format, text) => styleText(format, text, { validateStream: false }) : (_format, text) => text;
}
