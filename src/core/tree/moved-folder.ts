import { ChronicleError } from "../values/errors.ts";

/**
 * Returns the error for a workspace that was opened before its folder was moved. The error is thrown after the new
 * place was recorded.
 */
export function movedFolder(from: string, to: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", `the tracked folder ${from} was moved to ${to}: nothing was done`, {
    hint: "try again: the workspace is then opened at its folder's new place",
    data: { folder: from, moved_to: to },
  });
}

export function wasMoved(error: unknown): boolean {
  return error instanceof ChronicleError && error.code === "NOT_FOUND" && error.data["moved_to"] !== undefined;
}
