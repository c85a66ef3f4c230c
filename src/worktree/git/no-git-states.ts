import type { WorkspacePath } from "../../core/values/path.ts";
import type { GitPlace, GitReading, GitStates, KeepBudget, KeptObjects } from "../git-states.ts";

/** The backend for a workspace without a folder, which has no repositories. */
export class NoGitStates implements GitStates {
  nested(): readonly WorkspacePath[] {
    return [];
  }

  look(): readonly GitPlace[] {
    return [];
  }

  async read(): Promise<GitReading> {
    return { states: [], notes: [] };
  }

  async giveUpFolders(): Promise<void> {
    // There are no kept folders.
  }

  async lost(): Promise<undefined> {
    return undefined;
  }

  async collectFolders(): Promise<number> {
    return 0;
  }

  async valuesOf(): Promise<undefined> {
    return undefined;
  }

  leads(): boolean {
    return false;
  }

  headLog(): readonly never[] {
    return [];
  }

  forget(): void {
    // There is nothing to forget.
  }

  async pack(): Promise<KeptObjects> {
    return { lacking: 0 };
  }

  keepBudget(): KeepBudget {
    return { until: 0, leftBytes: 0 };
  }

  async objectsOf(): Promise<readonly string[]> {
    return [];
  }

  async apply(): Promise<string> {
    return "this workspace has no folder";
  }
}
