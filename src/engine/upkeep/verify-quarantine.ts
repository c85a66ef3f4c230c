import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import type { Context } from "../log/context.ts";
import type { LogFindings } from "./verify-log.ts";

/**
 * Checks the parts that were cut off the log and are kept for people: each must be there, with its length and bytes.
 */
export async function checkQuarantine(
  { log }: Pick<Context, "log">,
  { recoveries }: Pick<LogFindings, "recoveries">,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { kept_as: name, bytes, sha256 } of recoveries) {
    // A recovery that was compacted away with its archive, or names no part, says nothing about the bytes.
    if (typeof name !== "string" || !isPartName(name)) continue;
    const where = `quarantine/${name}`;
    const part = await log.quarantined(name);
    if (part === undefined) {
      problems.push({ kind: "quarantine-missing", where, detail: "what was cut off the log there is gone" });
    } else if (typeof sha256 === "string" && (part.hash !== sha256 || part.bytes !== bytes)) {
      const detail = `its ${part.bytes} bytes are not those that were cut off the log`;
      problems.push({ kind: "quarantine-damaged", where, detail });
    }
  }
  return problems;
}

/** True if a name from the log is that of a part, and so not a path. */
function isPartName(name: string): boolean {
  return /^[0-9.-]+\.part$/.test(name);
}
