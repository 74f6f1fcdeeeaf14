/** The keys inside a key service of the tests: real AES-256-GCM with associated data, versions that are rotated, disabled and withdrawn. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** Why a service does not use a key. */
export type RefusalReason = 'mismatch' | 'disabled' | 'withdrawn' | 'unknown key'

/** What a service of the tests throws in place of an answer. */
export class KeyRefusal extends Error {
  readonly reason: RefusalReason
  constructor(reason: RefusalReason) {
    super(reason)
    this.reason = reason
  }
}

/** Bytes that a version of the key has sealed. */
interface Sealed {
  readonly version: number
  readonly bytes: Buffer
}

export interface ServedKeys {
  /** The version that seals, from 1. */
  current(): number
  seal(plaintext: Uint8Array, associatedData: Uint8Array): Sealed
  /** Opens with the version that the bytes name, which is `version` if that is given. */
  open(bytes: Uint8Array, associatedData: Uint8Array, version?: number): Buffer
  rotate(): void
  /** Disables or enables the version that seals. */
  setEnabled(enabled: boolean): void
  /** Disables the versions before it. */
  disableOlder(): void
  withdraw(): void
}

const VERSION_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Sealed bytes have the layout `version 4 | nonce 12 | ciphertext | tag 16`. */
export function createServedKeys(): ServedKeys {
  const versions = [{ key: randomBytes(32), isEnabled: true }]
  let isWithdrawn = false
  const usable = (version: number) => {
    if (isWithdrawn) throw new KeyRefusal('withdrawn')
    const found = versions[version - 1]
    if (found === undefined) throw new KeyRefusal('unknown key')
    if (!found.isEnabled) throw new KeyRefusal('disabled')
    return found.key
  }
  return {
    current: () => versions.length,
    seal(plaintext, associatedData) {
      const version = versions.length
      const head = Buffer.alloc(VERSION_BYTES)
      head.writeUInt32BE(version)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', usable(version), nonce).setAAD(associatedData)
      return { version, bytes: Buffer.concat([head, nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]) }
    },
    open(bytes, associatedData, version) {
      const sealed = Buffer.from(bytes)
      if (sealed.length < VERSION_BYTES + NONCE_BYTES + TAG_BYTES) throw new KeyRefusal('mismatch')
      const named = sealed.readUInt32BE()
      if (version !== undefined && version !== named) throw new KeyRefusal('mismatch')
      const nonce = sealed.subarray(VERSION_BYTES, VERSION_BYTES + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', usable(named), nonce).setAAD(associatedData)
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      const plaintext = decipher.update(sealed.subarray(VERSION_BYTES + NONCE_BYTES, -TAG_BYTES))
      try {
        decipher.final()
      } catch {
        throw new KeyRefusal('mismatch')
      }
      return plaintext
    },
    rotate() {
      versions.push({ key: randomBytes(32), isEnabled: true })
    },
    setEnabled(enabled) {
      const last = versions.at(-1)
      if (last !== undefined) last.isEnabled = enabled
    },
    disableOlder() {
      for (const older of versions.slice(0, -1)) older.isEnabled = false
    },
    withdraw() {
      isWithdrawn = true
    },
  }
}
