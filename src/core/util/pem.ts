/** Keys in PEM: which algorithm signs with them, and whether a newer runtime could read them. */
import { VaultError } from '../errors.ts'
import { toHex } from './bytes.ts'
import { fromBase64 } from './text.ts'

/** Returns the algorithm of a type of key, as `node:crypto` names it; undefined if checkpoints are not signed with it. */
export function signatureAlgorithmOf(type: string | undefined): 'Ed25519' | 'ML-DSA-65' | undefined {
  if (type === 'ed25519') return 'Ed25519'
  return type === 'ml-dsa-65' ? 'ML-DSA-65' : undefined
}

/** Object identifiers in DER, as hex digits. Source: RFC 9881; RFC 9935. */
const POST_QUANTUM = { 'ML-DSA-65': '0609608648016503040312', 'ML-KEM-768': '0609608648016503040402' } as const

/** The labels of PEM for a key that a program holds, and for one that it may show. */
export type PemLabel = 'PRIVATE KEY' | 'PUBLIC KEY'

/** True for text that says it is a key of this kind. */
export function hasLabel(pem: unknown, label: PemLabel): pem is string {
  return typeof pem === 'string' && pem.includes(`-----BEGIN ${label}-----`)
}

/** Throws `failed_precondition` for a key of this algorithm. Called when it could not be read, which only newer runtimes do. `name` says which key it is. */
export function assertNotNewer(pem: string, algorithm: keyof typeof POST_QUANTUM, name: string): void {
  const der = toHex(fromBase64(pem.replace(/-----[A-Z ]+-----|\s/g, '')) ?? new Uint8Array(0))
  if (!der.includes(POST_QUANTUM[algorithm])) return
  const problem = `${name} is an ${algorithm} key that cannot be read. Use Node 24.7 or newer; there the key is damaged.`
  throw new VaultError('failed_precondition', problem)
}
