/** The event of a change of the schema. Not an operation of callers: the application that opened the vault asks for it. */
import type { Operation } from '../execution/operation.ts'

/** A step of a change, and the generation of the catalog after it. */
export interface SchemaChangeStep {
  readonly step: (typeof STEPS)[number]
  readonly generation: number
}

const STEPS = ['begun', 'ended', 'mapped'] as const

/** Only records a step. */
export const schemaChangeStep: Operation<SchemaChangeStep, undefined, undefined> = {
  action: 'CHANGE_SCHEMA',
  resourceType: 'VAULT',
  verb: 'Recording',
  members: ['step', 'generation'],
  recorded: { step: STEPS, generation: 'number' },
  parse: () => undefined,
  execute: async () => undefined,
}
