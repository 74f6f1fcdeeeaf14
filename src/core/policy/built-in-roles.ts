/** The roles that exist in every vault. */
import type { PolicyDefinition } from './statement.ts'

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
} as const satisfies PolicyDefinition
