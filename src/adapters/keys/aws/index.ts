/** Entry point "strongroom/keys/aws": root keys wrapped by AWS KMS. */
export { type AwsKmsClientLike, type AwsKmsKeysOptions, awsKmsKeys } from './aws-kms-keys.ts'
