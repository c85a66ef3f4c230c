import { EXIT, exitCodeOf } from "../../api/problems.ts";
import { ChronicleError, codedError } from "../../core/values/errors.ts";
import type { Io } from "../../process/io.ts";
import { type Paint, printable, printableText } from "../../process/printable.ts";
import { writeJson } from "../render/json.ts";
import type { WithGlobalOptions } from "../table/with-global-options.ts";

export interface ReportStyle {
  readonly json: boolean;
  /** True if JSON is written to stderr, as one line, because stdout belongs to the command that was run. */
  readonly jsonOnStderr?: boolean;
  readonly paint: Paint;
  /** See `CommandContext.worded`. */
  readonly worded?: WithGlobalOptions;
}

interface Told {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly exitCode: number;
}

function told(thrown: unknown): Told {
  const error = codedError(thrown);
  if (error instanceof ChronicleError) {
    const { code, message, hint, data } = error;
    return { code, message, hint: hint ?? null, data, exitCode: exitCodeOf(code) };
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = "this is a bug in Chronicle; CHRONICLE_DEBUG=1 shows where";
  return { code: "INTERNAL", message: `unexpected: ${message}`, hint, data: {}, exitCode: EXIT.failed };
}

/** Prints an error, as JSON or as text. Returns the exit code of the command. */
export function reportError(error: unknown, io: Io, style: ReportStyle): number {
  const { exitCode, ...shape } = told(error);
  const { worded = (text: string) => text } = style;
  if (style.json) {
    if (style.jsonOnStderr === true) io.err.write(`${JSON.stringify({ error: shape })}\n`);
    else writeJson({ error: shape }, (text) => io.out.write(text));
  } else {
    io.err.write(`${style.paint("red", "chronicle:")} ${printable(shape.message)}\n`);
    for (const line of worded(shape.hint ?? "")
      .split("\n")
      .filter(Boolean))
      io.err.write(`  ${printable(line)}\n`);
  }
  if (io.env["CHRONICLE_DEBUG"] === "1") io.err.write(`${printableText(stackOf(error))}\n`);
  return exitCode;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by: ${stackOf(error.cause)}`;
}
