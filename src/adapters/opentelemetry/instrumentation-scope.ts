/** The instrumentation scope of spans and metrics. */

/** Its name, and the prefix of names of attributes and instruments. */
export const NAME = 'strongroom'
/** The version of this package. A test compares it with package.json. */
export const VERSION = '0.1.0'
