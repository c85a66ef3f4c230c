/** The exit code `failed` (see `EXIT`). The table of exit codes is not loaded for it. */
const FAILED = 1;

/** Returns the exit code of the command if the command failed, and else `failed`. */
export function tellLost(failure: Error, code: number): number {
  process.stderr.write(
    `chronicle: the answer could not be written: ${failure.message}\n` +
      "  the command itself has ended: `chronicle list` and `chronicle status` show what it did\n",
  );
  return code === 0 ? FAILED : code;
}
