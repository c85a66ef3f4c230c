/**
 * Shifts the clock of this process, so that a history that is made now has the same times on each machine. Child
 * processes import this file first (`node --import`), with the shift in `CHRONICLE_TEST_CLOCK_SHIFT`.
 */

const RealDate = Date;

/** The variable with the shift of a child process, in milliseconds. */
export const SHIFT = "CHRONICLE_TEST_CLOCK_SHIFT";

/** Lets the clock of this process go on from `ms` after the real time. 0 sets it right again. */
export function shiftClock(ms: number): void {
  if (ms === 0) {
    globalThis.Date = RealDate;
    return;
  }
  globalThis.Date = class extends RealDate {
    constructor(...given: readonly unknown[]) {
      if (given.length === 0) super(RealDate.now() + ms);
      else super(...(given as [number]));
    }

    static override now(): number {
      return RealDate.now() + ms;
    }
  } as DateConstructor;
}

/** The shift that makes it `time` now. */
export function shiftTo(time: number): number {
  return time - RealDate.now();
}

const asked = process.env[SHIFT];
if (asked !== undefined) shiftClock(Number(asked));
