/** Key ids of service accounts: the id of the stored credential and the vault that stores it, so that a vault is found without trying all. */

/** The parts of a key id. */
export interface ServiceAccountKeyID {
  /** Id of the stored credential. */
  readonly keyID: string
  readonly vaultID: string
}

const FORM = /^([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\.([\w-]{2,700})$/

/** Returns the text that clients keep as `keyID` and send as the claim `key`. */
export function printKeyID({ keyID, vaultID }: ServiceAccountKeyID): string {
  return `${keyID}.${Buffer.from(vaultID).toString('base64url')}`
}

/** Returns the parts of a key id; undefined for anything else. */
export function parseKeyID(text: unknown): ServiceAccountKeyID | undefined {
  const [, keyID, encoded] = typeof text === 'string' ? (FORM.exec(text) ?? []) : []
  if (keyID === undefined || encoded === undefined) return undefined
  const parts = { keyID, vaultID: Buffer.from(encoded, 'base64url').toString() }
  // Bytes that are not UTF-8, and unused bits, would be another text of the same vault.
  return printKeyID(parts) === text ? parts : undefined
}
