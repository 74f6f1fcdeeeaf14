/** The events of the vault's own changes of its keys. Not operations of callers: the application that opened the vault asks for them. */
import type { Operation } from '../execution/operation.ts'

/** A step of a change of keys, and the root key that it is about. */
export interface KeyStep {
  readonly step: (typeof STEPS)[number]
  readonly version: number
  /** The table whose ids and tokens were handed out. */
  readonly table?: string
}

const STEPS = ['added', 'activated', 'ended', 'rewrapped', 'destroyed', 'mapped'] as const

/** Returns the operation that only records a step of this action. */
export function keyStep(
  action: 'ROTATE_KEYS' | 'REWRAP_KEYS' | 'DESTROY_KEY' | 'ROTATE_LOOKUPS',
): Operation<KeyStep, undefined, undefined> {
  return {
    action,
    resourceType: 'VAULT',
    verb: 'Recording',
    members: ['step', 'version', 'table'],
    recorded: { step: STEPS, version: 'number', table: 'name' },
    parse: () => undefined,
    execute: async () => undefined,
  }
}
