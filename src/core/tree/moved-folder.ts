import { ChronicleError } from "../values/errors.ts";

/** The error of a workspace that was opened before its folder was moved, once the new place is recorded. */
export function movedFolder(from: string, to: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", `the tracked folder ${from} was moved to ${to}: nothing was done`, {
    hint: "ask again: the workspace is opened anew, where its folder is",
    data: { folder: from, moved_to: to },
  });
}

/** Whether an error says that a workspace is to be opened anew, since its folder was moved. */
export function wasMoved(error: unknown): boolean {
  return error instanceof ChronicleError && error.code === "NOT_FOUND" && error.data["moved_to"] !== undefined;
}
