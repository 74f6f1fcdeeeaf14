/** Derives every key of a vault from its root keys, by HKDF-SHA-256 with distinct labels. */
import { hkdfSync } from 'node:crypto'
import { unreachable } from '../../core/util/causes.ts'

/** The use of a key. Each use has its own label. */
export type KeyUse =
  | { readonly kind: 'seal'; readonly version: number; readonly purpose: string }
  | { readonly kind: 'digest'; readonly scope: string }
  | { readonly kind: 'rank'; readonly scope: string }
  | { readonly kind: 'pointer' }

/** Returns the key of 32 bytes for one use. HKDF input: the root key; salt: the vault id; info: the label. Source: RFC 5869. */
export function deriveKey(root: Uint8Array, vaultId: string, use: KeyUse): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', root, vaultId, label(use), 32))
}

function label(use: KeyUse): string {
  // Free text comes last, so that no two uses have the same label.
  switch (use.kind) {
    case 'seal':
      return `strongroom/v1/seal/${use.version}/${use.purpose}`
    case 'digest':
      return `strongroom/v1/digest/${use.scope}`
    case 'rank':
      return `strongroom/v1/rank/${use.scope}`
    case 'pointer':
      return 'strongroom/v1/pointer'
    default:
      return unreachable(use)
  }
}
