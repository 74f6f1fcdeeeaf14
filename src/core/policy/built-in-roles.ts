/** The roles that exist in every vault. */
import type { PolicyDefinition } from './statement.ts'

/** The name of a role that exists in every vault. */
export type BuiltInRole = 'VAULT_OWNER' | 'VAULT_EDITOR' | 'VAULT_VIEWER'

/** Their statements. A policy cannot redefine these names. Source: docs/policy.md. */
export const BUILT_IN_ROLES = {
  VAULT_OWNER: [{ effect: 'ALLOW', actions: ['ALL'], on: ['*'], redaction: 'PLAIN_TEXT' }],
  VAULT_EDITOR: [
    {
      effect: 'ALLOW',
      actions: ['CREATE', 'READ', 'UPDATE', 'DELETE', 'TOKENIZATION', 'DETOKENIZATION', 'SEARCH'],
      on: ['*'],
    },
  ],
  VAULT_VIEWER: [{ effect: 'ALLOW', actions: ['READ'], on: ['*'] }],
} as const satisfies Readonly<Record<BuiltInRole, PolicyDefinition[string]>>
