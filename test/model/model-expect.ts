import { expect } from "vitest";

/**
 * The `expect` of vitest, for comparisons that a model makes outside of a test's body. The second argument is a label.
 */
export const found = expect;
