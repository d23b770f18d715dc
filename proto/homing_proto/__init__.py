"""The wire: protobuf definitions, their generated code, and the codec to and from core values."""
