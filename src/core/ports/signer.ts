/** Signatures of audit checkpoints. The vault never sees the private key. */

/** An Ed25519 private key in use. Source: RFC 8032. */
export interface Signer {
  /** Name of the key, 1 to 128 characters. A verifier selects the public key by it. */
  readonly keyId: string
  /** Returns the Ed25519 signature of the bytes, 64 bytes long. Rejects if the key cannot be used; the checkpoint then fails. */
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

/** An Ed25519 public key in use. */
export interface SignatureVerifier {
  /** Name of the key, as in `Signer.keyId`. */
  readonly keyId: string
  /** Returns true if `signature` (64 bytes) is the signature of `bytes` by this key. Returns false for anything else; never throws. */
  verify(bytes: Uint8Array, signature: Uint8Array): boolean
}
