/** Key ids of service accounts, which name the vault that stores them, so that it is found without trying all. */

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.([\w-]{2,700})$/

/** A key id, and the vault that it names. */
export interface ServiceAccountKeyID {
  readonly keyID: string
  readonly vaultID: string
}

/** Returns a key id and its vault; undefined for anything else. */
export function parseKeyID(keyID: unknown): ServiceAccountKeyID | undefined {
  if (typeof keyID !== 'string') return undefined
  const encoded = FORM.exec(keyID)?.[1]
  return encoded === undefined ? undefined : { keyID, vaultID: Buffer.from(encoded, 'base64url').toString() }
}
