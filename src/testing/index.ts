/**
 * `chronicle/testing`: the contract of each port as a suite of vitest tests. A backend's own test passes its factory to
 * the suite of its port; each suite states what it needs.
 */
export { blobBlocksSuite } from "./blob-blocks-suite.ts";
export { blobStoreSuite, type BlobBackend } from "./blob-store-suite.ts";
export { sweepCrashes, type CrashSweep, type SweepContext, type SweepResult } from "./crash-sweep.ts";
export { diskSuite, type DiskUnderTest } from "./disk-suite.ts";
export { eventLogSuite, type LogBackend } from "./event-log-suite.ts";
export { indexStoreSuite } from "./index-store-suite.ts";
export { lockSuite, type LockMaker } from "./lock-suite.ts";
export { outsideFilesSuite, type OutsideEditor, type OutsideHarness } from "./outside-files-suite.ts";
export type { HarnessOptions, WorktreeEditor, WorktreeHarness } from "./worktree-harness.ts";
export { workspaceSuite, type WorkspaceUnderTest } from "./workspace-suite.ts";
export { worktreeSuite } from "./worktree-suite.ts";
