/** Where the console and the API are: beside the file that runs, under whatever path the handler is mounted. */

// A literal `new URL('…', import.meta.url)` would be taken for a file of the build.
const here = import.meta.url

/** The URL of the console, with a slash at its end. The built files lie in a folder of it. */
export const CONSOLE_URL = new URL('..', here)

/** The URL under which the routes of the API begin, with a slash at its end. */
export const API_URL = new URL('..', CONSOLE_URL)

/** The vault that this handler serves; undefined if it serves several, or knows them only by a function. */
export const ONLY_VAULT = document.querySelector<HTMLMetaElement>('meta[name="strongroom-vault"]')?.content
