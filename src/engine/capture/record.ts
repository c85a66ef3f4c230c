import type { RecordShape } from "../../api/shapes.ts";
import { capture } from "./capture.ts";
import type { Context } from "../log/context.ts";
import { parseGivenPath } from "../log/given-path.ts";
import { refuseHosted } from "../log/hosted.ts";
import { changeShape, coverageShape } from "../log/shape.ts";

/** Captures these paths and what is beneath them, and looks nowhere else. Throws for a path that is none. */
export async function record(context: Context, given: readonly string[]): Promise<RecordShape> {
  refuseHosted(context, "record what is on disk");
  const captured = await capture(context, { cause: "capture", only: given.map(parseGivenPath) });
  return {
    seq: captured.seq,
    changes: captured.changes.map(changeShape),
    coverage: coverageShape(captured.coverage),
  };
}
