import { expect } from "vitest";

/**
 * The `expect` of vitest, for comparisons of a model outside of a test's body: `found(actual,
 * label).toEqual(expected)`.
 */
export const found = expect;
