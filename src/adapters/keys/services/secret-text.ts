/** A secret that an application gives as a text, or as a function that returns it: a token, a PIN. */
import { VaultError } from '../../../core/errors.ts'

/** The text, or a function that returns it when it is needed. */
export type SecretText = string | (() => string | Promise<string>)

/** Who needs a secret, for errors. */
export interface SecretOption {
  /** Name of the service, such as `Vault Transit`. */
  readonly service: string
  /** Name of the option. */
  readonly option: string
}

/** True for a text that is not empty, and for a function. */
export function isSecretText(given: unknown): given is SecretText {
  return (typeof given === 'string' && given !== '') || typeof given === 'function'
}

/** Returns the text. Throws `unavailable` if the function fails, without its error, which can quote a secret. */
export async function readSecretText(given: SecretText, { service, option }: SecretOption): Promise<string> {
  if (typeof given === 'string') return given
  try {
    const text: unknown = await given()
    if (typeof text === 'string' && text !== '') return text
  } catch {
    // Thrown below.
  }
  const message = `${service} cannot be asked: the function \`${option}\` failed or returned no text. Check it, then retry.`
  throw new VaultError('unavailable', message)
}
