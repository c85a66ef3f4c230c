/** The value of `EXIT.failed`. It is repeated here, so that the table of exit codes need not be loaded. */
const FAILED = 1;

/**
 * Reports that the output could not be written. Returns the command's exit code if the command failed, else `FAILED`.
 */
export function tellLost(failure: Error, code: number): number {
  process.stderr.write(
    `chronicle: the answer could not be written: ${failure.message}\n` +
      "  the command itself has ended: `chronicle list` and `chronicle status` show what it did\n",
  );
  return code === 0 ? FAILED : code;
}
