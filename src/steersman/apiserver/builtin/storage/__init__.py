"""PersistentVolumes, PersistentVolumeClaims, storage classes and CSI drivers. ``family.py`` lists the kinds."""
