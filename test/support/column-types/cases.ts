/** Checks for the tests of one column type: which inputs it accepts, as what, and which it rejects. */
import { ValueError } from '../../../src/core/values/column-type.ts'
import type { AnyColumnType } from '../../../src/core/values/column-types.ts'

/** The parsed form, or the message of the error. */
export function outcomeOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (error instanceof ValueError) return `fault: ${error.message}`
    throw error
  }
}

/** Those of the inputs that the type accepts. */
export function takenOf(type: AnyColumnType, inputs: readonly unknown[]): unknown[] {
  return inputs.filter((input) => !isFault(() => type.parse(input)))
}

/** Those of the texts that the type reads. */
export function readableOf(type: AnyColumnType, texts: readonly string[]): string[] {
  return texts.filter((text) => !isFault(() => type.fromText(text)))
}

function isFault(work: () => unknown): boolean {
  return String(outcomeOf(work)).startsWith('fault: ')
}
