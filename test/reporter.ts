import type { Reporter, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Prints the plain line `N passed, N failed[, N skipped]` when a run has ended.
 *
 * Counted from the results of single tests. A file that could not be loaded, a hook that threw and an error outside of
 * any test count as one failure each, so that the line never says `0 failed` for a run that failed.
 */
export class CountReporter implements Reporter {
  #line: string | undefined;

  constructor() {
    // At the very end: the other reporters write to stdout and stderr, and late.
    process.once("exit", () => this.#line !== undefined && process.stdout.write(this.#line));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts: Counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const testModule of modules) countModule(testModule, counts);
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    this.#line = `\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`;
  }
}

function countModule(testModule: TestModule, counts: Counts): void {
  const failedBefore = counts.failed;
  for (const test of testModule.children.allTests()) {
    const { state } = test.result();
    if (state === "passed") counts.passed += 1;
    else if (state === "skipped") counts.skipped += 1;
    else counts.failed += 1;
  }
  if (testModule.state() === "failed" && counts.failed === failedBefore) counts.failed += 1;
}
