import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Io } from "./io.ts";

/** The folder that a process stands in. Throws `NOT_FOUND` where it was removed: the system has no name for it then. */
export function standingFolder(cwd: () => string): string {
  try {
    return cwd();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw new ChronicleError("NOT_FOUND", "the folder you stand in is gone", {
      hint: "go to another one (cd), or name the workspace: chronicle -w ID …",
      cause: error,
    });
  }
}

/** As `Io.cwd`; `undefined` where the folder is gone. For what goes by it only where it is there. */
export function standingFolderIfThere(io: Pick<Io, "cwd">): string | undefined {
  try {
    return io.cwd();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}
