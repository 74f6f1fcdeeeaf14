/** Keys in PEM: which algorithm signs with them, and whether a newer runtime could read them. */
import { VaultError } from '../errors.ts'
import type { SignatureAlgorithm } from '../ports/crypto.ts'
import { toHex } from './bytes.ts'
import { fromBase64 } from './text.ts'

/** Returns the algorithm of a type of key, as `node:crypto` names it; undefined if checkpoints are not signed with it. */
export function signatureAlgorithmOf(type: string | undefined): SignatureAlgorithm | undefined {
  if (type === 'ed25519') return 'Ed25519'
  return type === 'ml-dsa-65' ? 'ML-DSA-65' : undefined
}

/** Object identifiers in DER, as hex digits. Source: RFC 9881; RFC 9935. */
const POST_QUANTUM = { 'ML-DSA-65': '0609608648016503040312', 'ML-KEM-768': '0609608648016503040402' } as const

/** Throws `failed_precondition` for a key that could not be read because only newer runtimes know its algorithm. `name` says which key it is, `kind` which one is expected. */
export function assertReadable(pem: unknown, name: string, kind: 'PRIVATE KEY' | 'PUBLIC KEY'): void {
  if (typeof pem !== 'string' || !pem.includes(`-----BEGIN ${kind}-----`)) return
  const body = pem.replace(/-----[A-Z ]+-----|\s/g, '')
  const der = toHex(fromBase64(body) ?? new Uint8Array(0))
  for (const [algorithm, identifier] of Object.entries(POST_QUANTUM)) {
    if (der.includes(identifier))
      throw new VaultError(
        'failed_precondition',
        `${name} is an ${algorithm} key that cannot be read. Use Node 24.7 or newer; there the key is damaged.`,
      )
  }
}
