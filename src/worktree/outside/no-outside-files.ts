import { ChronicleError } from "../../core/values/errors.ts";
import type { OutsideFiles, OutsideLook } from "../outside-files.ts";

/**
 * The backend for a hosted workspace, which has no outside files. A path that a client names is never looked up on the
 * machine that hosts the workspace.
 */
export class NoOutsideFiles implements OutsideFiles {
  readonly home = undefined;

  isOwn(): boolean {
    return false;
  }

  resolve(absolute: string): { readonly name: string; readonly end: string } {
    return { name: absolute, end: absolute };
  }

  async look(): Promise<OutsideLook> {
    throw new ChronicleError("REFUSED", "a hosted workspace has no files outside of it");
  }

  async replace(): Promise<string> {
    return "a hosted workspace has no files outside of it";
  }
}
