/** What tests of one column type ask again and again: is this taken, as what, and is that refused. */
import { ValueFault } from '../../../src/core/values/column-type.ts'
import type { AnyColumnType } from '../../../src/core/values/column-types.ts'

/** The trusted form, or the sentence of the fault. */
export function outcomeOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (error instanceof ValueFault) return `fault: ${error.message}`
    throw error
  }
}

/** The inputs, of all given, that the type takes. */
export function takenOf(type: AnyColumnType, inputs: readonly unknown[]): unknown[] {
  return inputs.filter((input) => !isFault(() => type.parse(input)))
}

/** The texts, of all given, that the type reads. */
export function readableOf(type: AnyColumnType, texts: readonly string[]): string[] {
  return texts.filter((text) => !isFault(() => type.fromText(text)))
}

function isFault(work: () => unknown): boolean {
  return String(outcomeOf(work)).startsWith('fault: ')
}
